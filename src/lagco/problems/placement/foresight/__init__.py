"""Looking ahead in `placement`: moves, chains of moves, plans."""
