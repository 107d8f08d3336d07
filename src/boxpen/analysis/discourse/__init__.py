"""Whether pronouns, connectives and elided verbs are translated right, by rule and by readers."""
