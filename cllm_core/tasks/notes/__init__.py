"""Notes about many kinds of records, generated with a seed, and the records that they tell of."""
