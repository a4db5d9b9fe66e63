"""The best schedule of one job at prices, where workers and parameter servers are apart."""
