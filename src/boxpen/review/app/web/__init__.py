"""Requests and replies: who may ask, what they may ask, and how tasks are put into JSON."""
