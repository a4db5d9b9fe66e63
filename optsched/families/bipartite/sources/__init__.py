"""Where instances come from: generators and traces."""
