"""How models run: packs of prefix trees, budgets of memory, output layers, beam search."""
