"""RobX for one person: growing spheres, then copies that walk to stable training rows."""

from __future__ import annotations

import numpy as np

from benchmarks.plain.draws import stability_noise, threshold_generator
from benchmarks.plain.growing_spheres import growing_spheres
from benchmarks.plain.method import PlainMethod

LEAST_THRESHOLD = 0.5


class PlainRobX(PlainMethod):
    """Both configurations: they differ in the quantile, which is a setting."""

    def prepare(self) -> None:
        s = self.settings
        goals = self.training_rows[self.favourable(self.training_rows)]
        generator = threshold_generator(self.context)
        scores = np.array(
            [
                self.stability(goal, s.variance**0.5 * generator.standard_normal(self.shape))
                for goal in goals
            ]
        )
        self.threshold = max(LEAST_THRESHOLD, float(np.quantile(scores, s.quantile)))
        self.anchors = goals[scores > self.threshold]
        self.noise = stability_noise(self.context, s.samples, s.variance)

    @property
    def shape(self) -> tuple[int, int]:
        return self.settings.samples, self.context.task.n_features

    def stability(self, point: np.ndarray, noise: np.ndarray) -> float:
        around = self.probabilities(point + noise)
        return float(around.mean() - around.std())

    def stable(self, point: np.ndarray) -> bool:
        favourable = bool(self.favourable(point[None])[0])
        return favourable and self.stability(point, self.noise) > self.threshold

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        s = self.settings
        start = growing_spheres(
            self.context,
            row,
            self.favourable,
            "robx start",
            samples=s.shell_samples,
            norm=1,
            step=s.shell_step,
            max_shells=s.max_shells,
            training_range=self.context.task.training_range,
        )
        if np.isnan(start).any() or self.stable(start):
            return start
        distances = np.abs(self.anchors - start).sum(axis=1)
        anchors = self.anchors[np.argsort(distances, kind="stable")[: s.anchors]]
        copies = np.repeat(start[None], len(anchors), axis=0)
        for _ in range(s.max_steps):
            copies = copies + s.stride * (anchors - copies)
            for copy in copies:
                if self.stable(copy):
                    return copy
        return np.full_like(row, np.nan)
