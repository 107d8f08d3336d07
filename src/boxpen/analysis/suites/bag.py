"""A bag-of-words classifier: can the right candidate be told by its words alone?

A candidate is the set of its words, less what the candidates of its item have on average, so that
words which all of them share say nothing. Ridge regression learns which words are right and which
wrong, and the candidate with the highest score is picked. It sees neither context nor source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boxpen.analysis.suites.words import Worded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Bags"]

_RIDGE = 3.0
_EXACT = 1e-9  # relative residual at which the equations count as solved
_TIE = 1e-6  # scores nearer than this are equal


class Bags:
    """The candidates of many items as sparse rows, to learn from some and to pick in others."""

    def __init__(self, items: Sequence[Worded]) -> None:
        import numpy as np
        from scipy import sparse

        vocabulary: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for item in items:
            for candidate in item.words:
                found = dict.fromkeys(candidate)
                columns += [vocabulary.setdefault(word, len(vocabulary)) for word in found]
                ends.append(len(columns))
        self._sizes = np.array([len(item.words) for item in items])
        self._starts = np.concatenate(([0], np.cumsum(self._sizes)[:-1]))
        self._item = np.repeat(np.arange(len(items)), self._sizes)  # (row,)
        rows = len(self._item)
        shape = (rows, max(1, len(vocabulary)))
        seen = sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        member = sparse.csr_array((np.ones(rows), (self._item, np.arange(rows))))  # (item, row)
        mean = sparse.diags_array(1 / self._sizes) @ (member @ seen)
        self._rows = (seen - member.T @ mean).tocsr()  # (row, word)
        self._gold = np.array([item.item.gold for item in items])
        self._target = -1 / self._sizes[self._item]
        self._target[self._starts + self._gold] += 1

    def weights(self, train: NDArray[np.bool_]) -> Floats:
        """Return the weight of every word, learnt from the items where ``train`` is true."""
        from scipy.sparse.linalg import LinearOperator, cg

        chosen = train[self._item]
        rows: Any = self._rows[chosen]
        turned = rows.T.tocsr()
        normal = LinearOperator(
            (rows.shape[1],) * 2,
            matvec=lambda w: turned @ (rows @ w) + _RIDGE * w,
            dtype=float,
        )
        solution, _ = cg(normal, turned @ self._target[chosen], rtol=_EXACT)
        return solution  # type: ignore[no-any-return]

    def credits(self, weights: Floats) -> Floats:
        """Return what picking by these weights earns in every item; k equal scores earn 1/k."""
        import numpy as np

        scores = self._rows @ weights  # (row,)
        best = np.maximum.reduceat(scores, self._starts)  # (item,)
        top = scores > best[self._item] - _TIE
        ties = np.add.reduceat(top.astype(float), self._starts)
        return np.where(top[self._starts + self._gold], 1 / ties, 0.0)
