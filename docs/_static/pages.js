// What scrolls can be reached by keyboard, too.
addEventListener("DOMContentLoaded", () => {
    for (const part of document.querySelectorAll("pre, .table-wrapper, .formula")) {
        part.tabIndex = 0;
    }
});
