"""The app in a browser on this machine: a small server that starts one app for each page, and its access control."""
