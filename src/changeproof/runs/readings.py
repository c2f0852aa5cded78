from changeproof.runs.results import Answered as Answered, Results


class Readings:
    def __init__(self, results):
        self.results = results

    def __getattr__(self, n):
        return getattr(self.results, n)

    def counterfactuals(self, key):
        return self.results.counterfactuals(*key)

    def survival(self, key):
        return self.results.survived(*key)

    def variants(self, d, s):
        return self.results.variants(d, s)
