"""The version of boxpen, the only place that states it."""

__version__ = "1.0.0rc1"
