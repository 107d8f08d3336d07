"""Human answers to the items of a suite: asked for in a review, or read from a table."""

from boxpen.human.answers import AnswerTask
from boxpen.human.run import human_run, read_answers

__all__ = ["AnswerTask", "human_run", "read_answers"]
