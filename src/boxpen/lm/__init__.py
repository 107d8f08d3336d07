"""Training of classifiers of inference, multiple-choice models and language models.

Reading data and splitting it need Python alone; training needs torch, transformers and numpy.
Nothing else is imported, so that this package works on a bare machine with a GPU; only suites by
name, Parquet files and knowledge graphs need more.
"""

from boxpen.lm.classifier.choice import train_choice
from boxpen.lm.classifier.nli import train_nli
from boxpen.lm.job import train_lm
from boxpen.lm.options import Options

__all__ = ["Options", "train_choice", "train_lm", "train_nli"]
