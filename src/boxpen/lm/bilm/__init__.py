"""Bidirectional LSTM language models such as ELMo: shapes, layers, words, public weights."""
