"""Validates an SBOM by the CycloneDX schema. Usage: check_sbom.py FILE"""

import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
validator = JsonStrictValidator(SchemaVersion.V1_5)
# A validator that accepts this would accept anything.
assert validator.validate_str(text.replace('"bomFormat"', '"bom"', 1)) is not None
problem = validator.validate_str(text)
if problem is not None:
    sys.exit(f"{sys.argv[1]}: {problem}")
