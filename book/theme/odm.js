// What the guide adds to the scripts of mdBook, which are loaded before.
'use strict';

// The copy button: mdBook leaves out the lines that are hidden. A program is copied whole, so that it runs. Lines that
// are hidden because they use the guide's own test helpers would not compile elsewhere, and stay hidden.
(function copyWholePrograms() {
    const shown = window.playground_text;
    window.playground_text = (block, hidden = true) => {
        const whole = shown(block, true);
        return hidden || !whole.includes('odm_book') ? whole : shown(block, false);
    };
})();

// A paragraph that begins with "Enforced by:" gets a badge.
(function markWhatIsEnforced() {
    const words = 'Enforced by:';
    for (const paragraph of document.querySelectorAll('main p')) {
        const first = paragraph.firstChild;
        if (first?.nodeType === Node.TEXT_NODE && first.data.startsWith(words)) {
            const badge = document.createElement('span');
            badge.className = 'enforced';
            badge.textContent = 'Enforced by';
            first.data = first.data.slice(words.length);
            paragraph.prepend(badge);
        }
    }
})();
