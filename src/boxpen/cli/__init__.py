"""The command line. Results go to stdout; progress, notes and errors to stderr."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    import sys

    from boxpen.cli.stopping import TerminatedError, raise_on_sigterm

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its code, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with raise_on_sigterm():
            from boxpen.cli.app import app

            app()
    except TerminatedError:  # before there was anything to keep
        print("boxpen: terminated", file=sys.stderr)
        sys.exit(143)
    except KeyboardInterrupt:
        print("boxpen: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception:  # a bug; Python's own status, 1, is for rules that do not hold
        import traceback

        traceback.print_exc()
        sys.exit(2)
    except SystemExit as ended:
        trained = sys.modules.get("boxpen.training.processes")
        if trained is not None and trained.has_parted():
            trained.leave(ended.code)
        raise
