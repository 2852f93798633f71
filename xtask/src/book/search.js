// The results of searches, as a reader has them: the links, for each of the words.
//
// The file is one expression: a function that `look.rs` calls with a list of words.
async (list) => {
    const bar = document.getElementById('mdbook-searchbar');
    document.getElementById('mdbook-search-toggle').click();
    const found = [];
    for (const words of list) {
        bar.value = words;
        // The index is loaded when the search is opened. A search before that does nothing.
        for (let tries = 0; ; tries += 1) {
            bar.dispatchEvent(new KeyboardEvent('keyup', { bubbles: true }));
            const header = document.getElementById('mdbook-searchresults-header').textContent;
            if (header.includes(`'${words}'`)) {
                break;
            }
            if (tries > 400) {
                throw new Error(`the search for ${words} has no answer`);
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        found.push([...document.querySelectorAll('#mdbook-searchresults a')].map((link) => link.getAttribute('href')));
    }
    return found;
}
