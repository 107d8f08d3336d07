"""Trainable translation models: data, training, translation."""
