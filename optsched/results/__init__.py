"""Result files, and what is done with them: read, used again, kept while work goes on, exported."""
