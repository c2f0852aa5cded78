"""Checks that authors run on their own methods and families: do they keep to the contract?"""
