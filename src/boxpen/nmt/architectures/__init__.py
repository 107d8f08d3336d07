"""Shapes and layers of translation models that read one sentence."""
