// The text of one page that is hard to read, for each theme that the page offers.
//
// The file is one expression: a function that `look.rs` calls with the least ratio that is allowed. Contrast is that of
// WCAG 2.2; https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio has its formula.
async (least) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const cached = (compute) => {
        const known = new Map();
        return (key) => {
            if (!known.has(key)) {
                known.set(key, compute(key));
            }
            return known.get(key);
        };
    };
    const color = cached((text) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
    });
    const over = (top, bottom) => {
        const alpha = top[3];
        return [0, 1, 2].map((at) => top[at] * alpha + bottom[at] * (1 - alpha)).concat(1);
    };
    const luminance = ([red, green, blue]) => {
        const linear = (part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    };
    const ratio = (one, other) => {
        const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
    };

    const measured = () => {
        const background = cached((element) => {
            if (!element) {
                return [255, 255, 255, 1];
            }
            const own = color(getComputedStyle(element).backgroundColor);
            return own[3] === 1 ? own : over(own, background(element.parentElement));
        });
        const opacity = cached((element) => {
            return element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
        });
        const faults = new Map();
        const judge = (element, style, behind, text) => {
            const [red, green, blue, alpha] = color(style.color);
            const front = over([red, green, blue, alpha * opacity(element)], behind);
            const found = ratio(front, behind);
            if (found < least) {
                const hex = (parts) =>
                    '#' + parts.slice(0, 3).map((part) => Math.round(part).toString(16).padStart(2, '0')).join('');
                const key = `${hex(front)} on ${hex(behind)}`;
                const fault = faults.get(key) ?? { colors: key, ratio: found, text, times: 0 };
                fault.times += 1;
                faults.set(key, fault);
            }
        };
        const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const element = node.parentElement;
            const text = node.data.trim().replace(/\s+/g, ' ').slice(0, 40);
            if (text && shown(element) && !(element instanceof SVGElement)) {
                judge(element, getComputedStyle(element), background(element), text);
            }
        }
        for (const element of document.querySelectorAll('main pre')) {
            const style = getComputedStyle(element, '::before');
            if (style.content.startsWith('"')) {
                judge(element, style, over(color(style.backgroundColor), background(element)), style.content);
            }
        }
        return [...faults.values()];
    };

    // Lines that a reader has shown are text, too.
    for (const block of document.querySelectorAll('.hide-boring')) {
        block.classList.remove('hide-boring');
    }
    const popup = document.getElementById('mdbook-theme-list');
    const offered = [...(popup?.querySelectorAll('button.theme') ?? [])].filter((button) => {
        const hidden = [button, button.closest('li')].some((part) => getComputedStyle(part).display === 'none');
        return !hidden && button.id !== 'mdbook-theme-default_theme';
    });
    if (offered.length === 0) {
        return [{ theme: 'only', faults: measured() }];
    }
    const found = [];
    for (const button of offered) {
        button.click();
        popup.style.display = 'block';
        found.push({ theme: button.id.replace('mdbook-theme-', ''), faults: measured() });
    }
    popup.style.display = 'none';
    localStorage.removeItem('mdbook-theme');
    return found;
}
