"""Classifiers and multiple-choice models, trained with Transformers."""
