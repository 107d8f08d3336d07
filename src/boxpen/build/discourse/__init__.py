"""Discourse tests mined from subtitles: pronouns, connectives and ellipsis (Cai & Xiong 2020)."""
