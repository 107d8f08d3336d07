"""Readers of subtitles."""
