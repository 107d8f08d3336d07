"""The web app for judges: the second face of review tasks, beside sheets.

``create_app`` makes an ASGI application of a ``Campaign``, which can be mounted in another one. A
campaign is what is judged, by whom, and by which rules; a ``Store`` keeps it in a database. A
``Desk`` is the work of one judge without a server, for the terminal.
"""
