"""The server: requests over HTTP, live instances, and the queues of the workers."""
