"""What is wrong with the data of a suite: its items, its blocks, its explanations."""
