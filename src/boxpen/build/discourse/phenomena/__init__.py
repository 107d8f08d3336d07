"""The phenomena, and how each is found in subtitles."""
