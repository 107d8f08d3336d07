"""Translation models that read the sentences before."""
