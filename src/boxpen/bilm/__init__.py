"""Bidirectional LSTM language models, as ELMo is one: shapes, layers, words, public weights."""
