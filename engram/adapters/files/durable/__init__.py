"""Write files so that they survive a crash: atomic writes, journal, locks, queues."""
