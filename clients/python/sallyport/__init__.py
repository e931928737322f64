"""A client of `sallyport agent`: commands in sandboxes, and the questions that a policy leaves open. sallyport-agent(7) describes
what the members of requests, results and events mean."""
from .client import Client, Event, Exec, Gone, Refused

__all__ = ["Client", "Event", "Exec", "Gone", "Refused"]
