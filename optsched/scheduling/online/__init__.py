"""Code shared by online policies: posted prices, queues, filling, free capacity."""
