"""The format of a bound's proof, and its checker, which no solver shares."""
