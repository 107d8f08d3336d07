"""Fine-tuning: classifiers of inference and multiple-choice models, trained on tables or suites.

Reading data and splitting it need Python alone; training needs torch, transformers, accelerate and
numpy. Nothing else is imported on the way, so that this room works on a bare machine with a GPU;
only suites by name and Parquet files ask for more.
"""

from boxpen.train.choice import train_choice
from boxpen.train.nli import train_nli
from boxpen.train.options import Options

__all__ = ["Options", "train_choice", "train_nli"]
