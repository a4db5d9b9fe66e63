// From a disk, a search cannot fetch the pages that it found, only name them.
if (location.protocol === "file:") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What scrolls can be reached by keyboard, too.
addEventListener("DOMContentLoaded", () => {
    for (const part of document.querySelectorAll("pre, .table-wrapper, .formula")) {
        part.tabIndex = 0;
    }
});
