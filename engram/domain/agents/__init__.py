"""What coding agents get and give: text made safe for a prompt, and what is learned from their sessions."""
