// What page_check.py runs in Node: html-validate on each page, then in Chromium axe-core, the width, and
// what a class's pages must show.
// Prints one line for each problem; NODE_PATH says where the packages are.
"use strict";
const { readFileSync, statSync } = require("fs");
const { basename, join } = require("path");
const { HtmlValidate } = require("html-validate");
const puppeteer = require("puppeteer-core");

const [chromium, pictures, ...pages] = process.argv.slice(2); // pictures: the folder for screenshots, or ""
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SCREENS = [[400, "light"], [1280, "dark"], [400, "dark"], [1280, "light"]];
const LARGE = 100000; // bytes; axe-core takes long for such a page, and the small ones look the same

async function validate(page) {
  const rules = new HtmlValidate({ extends: ["html-validate:recommended"] });
  const report = await rules.validateFile(page);
  for (const result of report.results)
    for (const found of result.messages) console.log(`${page}:${found.line}: ${found.ruleId}: ${found.message}`);
}

async function look(browser, page, [width, scheme]) {
  const tab = await browser.newPage();
  await tab.setViewport({ width, height: 900 });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(`file://${page}`);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) console.log(`${page}: ${wide} pixels wide at ${width}: it scrolls sideways`);
  for (const words of await tab.evaluate(lookAtDrawings)) console.log(`${page}: at ${width} ${scheme}: ${words}`);
  for (const words of await tab.evaluate(lookAtTop, SELECTORS)) console.log(`${page}: at ${width} ${scheme}: ${words}`);
  if (pictures) {
    const name = basename(page).replace(/\.html$/, `-${width}-${scheme}.png`);
    await tab.screenshot({ path: join(pictures, name), fullPage: true });
  }
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => axe.run());
  for (const found of violations)
    console.log(`${page}: axe ${found.id} at ${width} ${scheme}: ${found.help} (${found.nodes[0].target} and ${found.nodes.length - 1} more)`);
  await tab.close();
}

// What has to be in the first screen of a page, by a selector that only such pages have.
const SELECTORS = { "#needs": "what needs the teacher", "[aria-label='Your exercises'] tbody tr": "the student's points" };

function lookAtTop(selectors) {
  return Object.entries(selectors).flatMap(([selector, what]) => {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    return !box || (box.bottom <= innerHeight && box.width > 0) ? [] : [`${what} is below the first screen`];
  });
}

// The charts of a class: texts that touch one another or leave the drawing, bars without a height.
function lookAtDrawings() {
  return [...document.querySelectorAll("svg.histogram, svg.verdicts")].flatMap((drawing) => {
    const whole = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const bars = [...drawing.querySelectorAll("rect")].map((one) => one.getBoundingClientRect());
    const words = bars.some((box) => box.width < 1 || box.height < 1) ? ["a bar cannot be seen"] : [];
    texts.forEach(([text, box], at) => {
      if (box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1)
        words.push(`"${text}" leaves its drawing`);
      for (const [other, beside] of texts.slice(at + 1))
        if (box.left < beside.right && beside.left < box.right && box.top + 3 < beside.bottom && beside.top + 3 < box.bottom)
          words.push(`"${text}" is on "${other}"`);
    });
    return words;
  });
}

// A picture of a page: texts that touch one another, or leave it; by the fonts of this browser.
async function lookAtPicture(browser, page, scheme) {
  const tab = await browser.newPage();
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(`file://${page}`);
  const found = await tab.evaluate(() => {
    const whole = document.documentElement.getBoundingClientRect();
    const texts = [...document.querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
    const back = getComputedStyle(document.querySelector(".back")).fill;
    const words = [];
    texts.forEach(([one, box], at) => {
      if (box.left < whole.left || box.right > whole.right || box.bottom > whole.bottom)
        words.push(`"${one.textContent}" leaves the picture`);
      if (getComputedStyle(one).fill === back) words.push(`"${one.textContent}" has the colour of the background`);
      for (const [other, beside] of texts.slice(at + 1))
        if (box.left < beside.right && beside.left < box.right && box.top + 3 < beside.bottom && beside.top + 3 < box.bottom)
          words.push(`"${one.textContent}" is on "${other.textContent}"`);
    });
    return words;
  });
  for (const words of found) console.log(`${page}: ${scheme}: ${words}`);
  await tab.close();
}

(async () => {
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
  for (const page of pages) {
    if (page.endsWith(".svg")) {
      for (const scheme of ["light", "dark"]) await lookAtPicture(browser, page, scheme);
      continue;
    }
    await validate(page);
    const screens = statSync(page).size > LARGE ? SCREENS.slice(0, 1) : SCREENS;
    for (const screen of screens) await look(browser, page, screen);
  }
  await browser.close();
})();
