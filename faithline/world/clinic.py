"""Building a field of medicine: laboratories, diseases, proteins, drugs and the trials that tested them."""

from __future__ import annotations

from faithline.world.draws import Draws
from faithline.world.facts import Cluster, Entity
from faithline.world.founding import Founding
from faithline.world.names import Stems

__all__ = ["STEMS_PER_CLINIC", "build_clinic"]

STEMS_PER_CLINIC = 32

_DISEASE_WORDS = ("syndrome", "disease", "fever")
_LABORATORY_WORDS = ("Laboratory", "Research Centre")


def build_clinic(number: int, stems: Stems, first_stem: int, draws: Draws) -> Cluster:
    """Make the field of medicine with this number.

    Args:
        number: Number of the cluster in the world.
        stems: The world's stems.
        first_stem: Number of the first of the `STEMS_PER_CLINIC` stems that are its own.
        draws: The cluster's draws.
    """
    return _Clinic(number, stems, first_stem, draws).build()


class _Clinic(Founding):
    """One field of medicine under construction."""

    def build(self) -> Cluster:
        self.region = "clinical research"
        self._laboratories()
        self._diseases()
        self._proteins()
        self._drugs()
        self._trials()
        return self.finish()

    def _laboratories(self) -> None:
        self.laboratories: list[Entity] = []
        for researchers in self.numbers(3, 12, 900):
            name = f"{self.stem()} {self.draws.choice(_LABORATORY_WORDS)}"
            laboratory = self.entity("laboratory", name, "the ")
            self.add(laboratory, "laboratory_opened", self.draws.between(1921, 1975))
            self.add(laboratory, "researchers", researchers)
            self.laboratories.append(laboratory)

    def _diseases(self) -> None:
        self.diseases: list[Entity] = []
        for prevalence in self.numbers(4, 2, 900):
            disease = self.entity("disease", f"{self.stem()} {self.draws.choice(_DISEASE_WORDS)}")
            self.add(disease, "prevalence", prevalence)
            self.add(disease, "described", self.draws.between(1890, 1985))
            self.add_word(disease, "organ")
            self.diseases.append(disease)

    def _proteins(self) -> None:
        self.proteins: list[Entity] = []
        for mass in self.numbers(5, 9, 480):
            protein = self.entity("protein", f"{self.stem()}in")
            self.add_word(protein, "tissue")
            self.add(protein, "mass", mass)
            self.add(protein, "discovered_at", self.draws.choice(self.laboratories))
            self.proteins.append(protein)

    def _drugs(self) -> None:
        self.drugs: list[Entity] = []
        for half_life in self.numbers(9, 2, 96):
            drug = self.entity("drug", f"{self.stem()}ol")
            self.add(drug, "drug_target", self.draws.choice(self.proteins))
            self.add(drug, "treats", self.draws.choice(self.diseases))
            self.add(drug, "half_life", half_life)
            self.add(drug, "approved", self.draws.between(1990, 2022))
            self.add(drug, "developer", self.draws.choice(self.laboratories))
            self.drugs.append(drug)

    def _trials(self) -> None:
        responders = self.numbers(8, 11, 89)
        for participants, rate in zip(self.numbers(8, 38, 6400), responders, strict=True):
            trial = self.entity("trial", f"{self.stem().upper()} trial", "the ")
            self.add(trial, "tested", self.draws.choice(self.drugs))
            self.add(trial, "participants", participants)
            self.add(trial, "responders", rate)
            self.add(trial, "started", self.draws.between(1992, 2023))
