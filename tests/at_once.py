"""Work that many threads do at once."""

import sys
import threading
from collections.abc import Callable


def at_once(work: Callable[[], None], count: int) -> None:
    """Let threads begin together, and change between them as often as can be."""
    begin = threading.Barrier(count)

    def begun() -> None:
        begin.wait()
        work()

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=begun) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
