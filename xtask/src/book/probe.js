// What a reader has on the screen of one page, and what is wrong with it.
//
// The file is one expression: a function that `look.rs` calls with the width of the screen.
async (width) => {
    const still = document.createElement('style');
    still.textContent = '*, *::before, *::after { transition: none !important; animation: none !important; }';
    document.head.append(still);
    for (const details of document.querySelectorAll('details')) {
        details.open = true;
    }
    await document.fonts.ready;

    const main = document.querySelector('main');
    const brief = (text) => (text || '').trim().replace(/\s+/g, ' ').slice(0, 60);
    const describe = (element) => {
        const classes = [...element.classList].slice(0, 2).map((name) => '.' + name);
        const text = brief(element.textContent || element.alt);
        return element.localName + classes.join('') + (text ? ` "${text}"` : '');
    };
    const heading = main?.querySelector('h1, h2');
    const rendered = Boolean(heading) && brief(heading.textContent) !== '' && main.getBoundingClientRect().height > 50;
    if (!rendered) {
        return { rendered, overflow: [], titleCut: false, code: [], tables: [], pictures: [], samples: [] };
    }

    // An element that is scrolled in a box of its own does not make the page wider.
    const scrolls = (element) => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX);
    const boxed = (element) => {
        for (let box = element.parentElement; box && box !== main; box = box.parentElement) {
            if (scrolls(box)) {
                return true;
            }
        }
        return false;
    };
    const wide = new Set();
    for (const element of document.querySelectorAll('main *, #mdbook-menu-bar *')) {
        const { left, right, width: own } = element.getBoundingClientRect();
        const outside = own > 0 && (right > width + 1 || left < -1);
        if (outside && !wide.has(element.parentElement) && element.checkVisibility({ visibilityProperty: true })) {
            if (!boxed(element)) {
                wide.add(element);
            }
        }
    }
    const page = document.documentElement;
    const overflow = [...wide].map(describe);
    if (overflow.length === 0 && page.scrollWidth > width + 1) {
        overflow.push(`the page is ${page.scrollWidth} pixels wide`);
    }

    const cut = (element) => element.scrollWidth > element.clientWidth + 1;
    const title = document.querySelector('.menu-title');

    const code = [...main.querySelectorAll('pre > code')].map((block) => {
        // Without the lines that are hidden.
        const lines = block.innerText.split('\n');
        const longest = lines.reduce((longest, line) => ([...line].length > [...longest].length ? line : longest), '');
        return { cut: cut(block), columns: [...longest].length, longest: longest.trim() };
    });

    const tables = [...main.querySelectorAll('.table-wrapper')].filter(cut).map((table) => brief(table.innerText));

    const pictures = [];
    // mdBook has each picture twice: the second is shown when it is enlarged.
    for (const image of document.querySelectorAll('main img:not(.img-wrapper img)')) {
        const name = image.getAttribute('src');
        if (!image.complete || image.naturalWidth === 0) {
            pictures.push(`the picture ${name} is not shown`);
        } else if (/\.svg$/.test(name) && !image.closest('a') && image.width < image.naturalWidth * 0.95) {
            // A small picture that is a link leads to where its words can be read.
            const percent = Math.round((image.width / image.naturalWidth) * 100);
            pictures.push(`the picture ${name} is shrunk to ${percent} %, and its words with it`);
        }
        if (!image.alt && !image.closest('a')) {
            pictures.push(`the picture ${name} has no text for readers who can't see it`);
        }
    }

    // What the copy button of a code block copies.
    const copied = (block) => {
        let text = null;
        const listen = (event) => {
            text = event.target.value;
        };
        document.addEventListener('copy', listen, true);
        block.querySelector('.clip-button')?.click();
        document.removeEventListener('copy', listen, true);
        return text;
    };

    const samples = [];
    for (const block of main.querySelectorAll('pre > code')) {
        const label = getComputedStyle(block.parentElement, '::before').content;
        if (block.classList.contains('compile_fail') && (label === 'none' || label === 'normal')) {
            samples.push(`a sample that does not compile has no label: ${brief(block.innerText)}`);
        }
        // What the reader would miss: the lines around a program that is shown in part.
        const whole = block.textContent;
        const helpers = whole.includes('odm_book');
        if (block.querySelector('.boring') && !helpers && copied(block.parentElement) !== whole) {
            samples.push(`the copy button leaves out the hidden lines of: ${brief(block.innerText)}`);
        }
    }

    return { rendered, overflow, titleCut: Boolean(title) && cut(title), code, tables, pictures, samples };
}
