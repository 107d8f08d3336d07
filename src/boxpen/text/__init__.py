"""Texts: lines of files, parallel corpora, normal forms, overlap, languages. Knows no models."""
