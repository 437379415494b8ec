"""Merge versions of an entry, trees and commits; the git merge driver."""
