"""What stands in for the person's browser: opens an address, follows where it leads, and says what the last page was."""

import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen(sys.argv[1], timeout=60) as page:  # noqa: S310 - the tests' own addresses
        sys.stderr.write(f"the browser saw {page.status}\n")
except urllib.error.HTTPError as error:
    sys.stderr.write(f"the browser saw {error.code}\n")
