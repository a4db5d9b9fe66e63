"""Pages: the content of a campaign or a result, as one HTML file that needs nothing else.

page is the front door; campaigns and results define the content of a page, words the summary in
sentences; blocks are what a page is made of, curves and scales its figures, schedules the pictures
of the worst instance, and render writes the HTML.
"""
