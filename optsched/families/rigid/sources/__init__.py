"""Where instances come from: generators and recorded logs."""
